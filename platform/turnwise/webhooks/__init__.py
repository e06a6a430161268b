"""Webhooks: signed HTTP requests to an address of a researcher when something happens to a study or bot.

Events are stored as deliveries in the transaction of their cause (`outbox`) and sent by a background job
(`sending`), with retries. `watching` finds what no single write causes: filled studies and failing bots.
"""

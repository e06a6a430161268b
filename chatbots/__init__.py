"""Chatbots and their hosting. Knows no Django: everything here runs from a terminal or a notebook."""

from tests.away import away

__all__ = ["away"]

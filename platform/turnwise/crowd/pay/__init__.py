"""Pay: the ledger, payment files and requests to panels."""

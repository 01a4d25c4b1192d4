"""What happened and what is so now: tables to which rows are added, the one who writes, the ledger."""

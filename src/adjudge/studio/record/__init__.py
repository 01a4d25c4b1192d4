"""The record of a campaign: tables (schema), writer (store), present state (ledger, items), audit log, backup."""

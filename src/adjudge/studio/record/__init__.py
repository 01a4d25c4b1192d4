"""The record of a campaign: tables (schema), writer and backups (store), present state (ledger, items), audit log."""

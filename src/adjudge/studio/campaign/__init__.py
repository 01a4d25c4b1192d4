"""The folder of a campaign: reading and checking its files, and creating a new one."""

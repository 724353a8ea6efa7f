"""Privacy and loss of tables of any origin."""

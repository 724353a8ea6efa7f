"""Privacy and loss of tables, whoever made them."""

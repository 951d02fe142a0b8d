"""What somebody looks for: selectors of labels, patterns and expressions for names, and queries made of these."""

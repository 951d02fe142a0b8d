"""Commands of policies, made from their table: options, values as they are shown, and what bears them."""

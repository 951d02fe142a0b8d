"""What finds topics of a namespace without looking at each: by label, by name, by grant. Pure."""

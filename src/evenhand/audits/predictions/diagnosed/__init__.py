"""The model itself in the audit: what it answers when an attribute is another, and what gives the attribute
away."""

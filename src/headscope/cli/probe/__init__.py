"""`headscope probe`: what heads know of syntax, coreference, roles and linguistic features."""

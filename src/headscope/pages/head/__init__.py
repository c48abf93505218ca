"""The page of one head: what is known of it, part by part, as data for the front end."""

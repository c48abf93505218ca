"""What the views are given: the one definition of the data interface.

The server answers with these shapes, the single file and the widget embed them, and the TypeScript types of the
front end are made from them. Names are the same in JSON. A number that does not exist is null, never NaN; a field
that has a default may be left out.
"""

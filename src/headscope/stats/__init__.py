"""How sure a number is: intervals, and errors that know that texts of one document are alike."""

"""Looking at what there is: tables, cards, pages and the explorer."""

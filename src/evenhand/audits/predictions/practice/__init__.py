"""What practice and law ask for beside the claims: tables, thresholds, the table of the 2022 notebook."""

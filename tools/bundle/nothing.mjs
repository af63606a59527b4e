// Stands in for the parts of Vega that the report never uses (maps, force layouts, word clouds, …).
export const nothing = null;

"""Published audits: their tables read, recomputed, and audited from their counts."""

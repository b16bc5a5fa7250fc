"""Elements that come late: those that correct what was answered, those that come too late for it, silent streams."""

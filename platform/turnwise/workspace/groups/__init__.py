"""Pages and calls about groups: the list, one group with its members and studies, and joining by a link."""

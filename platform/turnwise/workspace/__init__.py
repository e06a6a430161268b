"""Pages of a researcher: home with alerts and costs, the list of studies, and a study's steps."""

"""Where passes run: on the threads of this machine, or on a Spark cluster."""

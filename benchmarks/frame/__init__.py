"""What every comparison of speed shares: contenders that take turns and agree, ratios, files, the page."""

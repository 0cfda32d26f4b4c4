package did

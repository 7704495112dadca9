// The whole source of the libraries that have only a name.

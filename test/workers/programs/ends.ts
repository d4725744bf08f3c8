/** A worker that cannot start. */
process.exit(3);

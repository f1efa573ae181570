# Settings of glibc's malloc for the service, to be read by the shell that starts it. With them, the memory of large buffers
# (attachments, uploads) goes back to the system when they are freed (docs/operations/gcp.md, "Sizing").
export MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=262144 MALLOC_TRIM_THRESHOLD_=262144

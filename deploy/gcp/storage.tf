resource "google_storage_bucket" "files" {
  name                        = "${var.project}-agent-session-files"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"

  # Pages fetch download links from the bucket itself.
  dynamic "cors" {
    for_each = length(var.cors_origins) == 0 ? [] : [1]
    content {
      origin          = var.cors_origins
      method          = ["GET", "HEAD"]
      response_header = ["Content-Type", "Content-Disposition", "Content-Length", "Content-Range"]
      max_age_seconds = 3600
    }
  }

  # Deleted objects can be brought back for two weeks, as long as the database's backups reach.
  soft_delete_policy {
    retention_duration_seconds = 1209600
  }

  # Files have no age at which they may go: only what an upload left half-way does.
  lifecycle_rule {
    condition {
      age = 2
    }
    action {
      type = "AbortIncompleteMultipartUpload"
    }
  }
  lifecycle_rule {
    condition {
      age            = 2
      matches_prefix = ["tmp/"]
    }
    action {
      type = "Delete"
    }
  }
}

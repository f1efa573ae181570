# Images by digest: a tag can be moved, a digest cannot.
resource "google_artifact_registry_repository" "images" {
  repository_id = "agent-session"
  location      = var.region
  format        = "DOCKER"

  docker_config {
    immutable_tags = true
  }

  cleanup_policies {
    id     = "old"
    action = "DELETE"
    condition {
      older_than = "7776000s"
    }
  }
  cleanup_policies {
    id     = "recent"
    action = "KEEP"
    most_recent_versions {
      keep_count = 20
    }
  }
}

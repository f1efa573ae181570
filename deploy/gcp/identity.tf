resource "google_service_account" "role" {
  for_each     = toset(["api", "worker", "migrate"])
  account_id   = "agent-session-${each.key}"
  display_name = "Agent Session Service, ${each.key}"
}

locals {
  # What each role reads. Values are added by hand: gcloud secrets versions add.
  secrets = {
    encryption-key    = ["api", "worker"]
    temporal-api-key  = ["api", "worker"]
    anthropic-api-key = ["api", "worker"]
  }
  readers = merge([
    for secret, roles in local.secrets : { for role in roles : "${secret}/${role}" => { secret = secret, role = role } }
  ]...)
}

resource "google_secret_manager_secret" "service" {
  for_each  = local.secrets
  secret_id = "agent-session-${each.key}"
  replication {
    auto {}
  }
}

resource "google_secret_manager_secret_iam_member" "reader" {
  for_each  = local.readers
  secret_id = google_secret_manager_secret.service[each.value.secret].id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.role[each.value.role].member
}

resource "google_storage_bucket_iam_member" "objects" {
  for_each = toset(["api", "worker"])
  bucket   = google_storage_bucket.files.name
  role     = "roles/storage.objectUser"
  member   = google_service_account.role[each.key].member
}

# signBlob on itself and nobody else: download links are signed without a key file.
resource "google_service_account_iam_member" "sign" {
  service_account_id = google_service_account.role["api"].name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = google_service_account.role["api"].member
}

# Each role's pods act as its account.
resource "google_service_account_iam_member" "workload" {
  for_each           = google_service_account.role
  service_account_id = each.value.name
  role               = "roles/iam.workloadIdentityUser"
  member             = "serviceAccount:${var.project}.svc.id.goog[agent-session/${each.key}]"
  depends_on         = [google_container_cluster.service]
}

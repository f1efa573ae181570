output "api_url" {
  value = google_cloud_run_v2_service.api.uri
}

output "bucket" {
  value = google_storage_bucket.files.name
}

output "database_address" {
  value = google_sql_database_instance.service.private_ip_address
}

output "temporal" {
  value = {
    address   = temporalcloud_namespace.service.endpoints.grpc_address
    namespace = temporalcloud_namespace.service.id
  }
}

output "api_address" {
  value = google_compute_global_address.api.address
}

# The CNAME that proves the domain to the certificate's issuer.
output "api_certificate_record" {
  value = google_certificate_manager_dns_authorization.api.dns_resource_record[0]
}

# What model providers, MCP servers and receivers of webhooks may allow.
output "egress_addresses" {
  value = google_compute_address.nat[*].address
}

output "images" {
  value = google_artifact_registry_repository.images.registry_uri
}

output "bucket" {
  value = google_storage_bucket.files.name
}

# What DATABASE_URL names: the server's certificate is made out to it.
output "database_host" {
  value = trimsuffix(google_dns_record_set.database.name, ".")
}

# For the ConfigMap database-ca, against which clients verify the server.
output "database_ca" {
  value = google_sql_database_instance.service.server_ca_cert[0].cert
}

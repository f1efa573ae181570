variable "project" {
  type        = string
  description = "Id of the Google Cloud project."
}

variable "region" {
  type    = string
  default = "europe-west1"
}

variable "domain" {
  type        = string
  description = "Host name of the API, for example api.example.com; PUBLIC_URL is https:// and this name."
}

variable "cors_origins" {
  type        = list(string)
  default     = []
  description = "Origins of web pages that use the API and fetch download links."
}

variable "operator_networks" {
  type        = list(string)
  default     = []
  description = "Networks from which kubectl reaches the cluster, for example [\"203.0.113.7/32\"]."
}

variable "nat_addresses" {
  type        = number
  default     = 2
  description = "Fixed addresses from which the service calls models, MCP servers and webhooks."
}

variable "requests_per_minute" {
  type        = number
  default     = 6000
  description = "Requests for each client address before Cloud Armor answers 429."
}

variable "temporal_service_attachment" {
  type        = string
  default     = ""
  description = "Private Service Connect attachment of the Temporal Cloud region; empty: Temporal Cloud over the internet."
}

variable "database_tier" {
  type    = string
  default = "db-custom-2-7680"
}

variable "temporal_namespace_region" {
  type    = string
  default = "gcp-europe-west1"
}

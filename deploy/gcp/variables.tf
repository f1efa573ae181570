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

variable "database_tier" {
  type    = string
  default = "db-custom-2-7680"
}

variable "temporal_namespace_region" {
  type    = string
  default = "gcp-europe-west1"
}

{{- define "agent-session.image" -}}
{{ .Values.image.repository }}@{{ required "image.digest: the digest that deploy/image/build.sh prints" .Values.image.digest }}
{{- end }}

{{- define "agent-session.imageOf" -}}
{{- $root := index . 0 -}}
{{ $root.Values.image.repository }}@{{ index . 1 | default $root.Values.image.digest }}
{{- end }}

{{- define "agent-session.databaseUrl" -}}
{{- $values := (index . 0).Values -}}
{{- $role := index . 1 -}}
- name: DATABASE_URL
{{- if $values.database.secret }}
  valueFrom: { secretKeyRef: { name: {{ $values.database.secret }}, key: {{ $role }} } }
{{- else }}
  value: {{ get $values.database.url $role | quote }}
{{- end }}
{{- end }}

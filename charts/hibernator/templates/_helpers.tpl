{{- define "hibernator.selector" -}}
app.kubernetes.io/name: hibernator
app.kubernetes.io/component: operator
{{- end }}

{{- define "hibernator.labels" -}}
{{ include "hibernator.selector" . }}
app.kubernetes.io/part-of: hibernator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "hibernator.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* What the chart decides, over what the user set. */ -}}
{{- define "hibernator.config" -}}
{{- $own := dict "listen" "0.0.0.0:8080" -}}
{{- if .Values.webhooks.enabled -}}
{{- $_ := set $own "webhookListen" "0.0.0.0:9443" -}}
{{- $_ := set $own "webhookService" "hibernator-webhook" -}}
{{- if .Values.webhooks.certificateSecret -}}
{{- $_ := set $own "webhookCertificates" "/etc/hibernator/webhook" -}}
{{- end -}}
{{- end -}}
{{- if not .Values.database.existingSecret.name -}}
{{- $_ := set $own "database" "sqlite:////var/lib/hibernator/audit.db" -}}
{{- end -}}
{{- if .Values.checkpoints.keySecret -}}
{{- $_ := set $own "auditKey" "/etc/hibernator/audit/audit.key" -}}
{{- end -}}
{{- toYaml (merge $own .Values.settings) -}}
{{- end }}

{{- define "hibernator.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "hibernator.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

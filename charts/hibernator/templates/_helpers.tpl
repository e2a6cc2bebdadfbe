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

{{- /* Whether the operator serves the audit trail and restore data to the web process: with the certificate of the webhooks. */ -}}
{{- define "hibernator.servesTrail" -}}
{{- if .Values.webhooks.enabled -}}yes{{- end -}}
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
{{- if include "hibernator.servesTrail" . -}}
{{- $_ := set $own "trailListen" "0.0.0.0:9444" -}}
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

{{- define "hibernator.webSelector" -}}
app.kubernetes.io/name: hibernator
app.kubernetes.io/component: web
{{- end }}

{{- define "hibernator.webLabels" -}}
{{ include "hibernator.webSelector" . }}
app.kubernetes.io/part-of: hibernator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "hibernator.webHost" -}}
{{- (urlParse (required "web.settings.baseUrl is missing: write the address under which people reach the pages" .Values.web.settings.baseUrl)).hostname -}}
{{- end }}

{{- /* What both processes must agree upon comes from the operator's settings. */ -}}
{{- define "hibernator.webConfig" -}}
{{- $own := dict "listen" "0.0.0.0:8081" "metricsListen" "0.0.0.0:8080" -}}
{{- if .Values.web.certificateSecret -}}
{{- $_ := set $own "certificates" "/etc/hibernator/tls" -}}
{{- end -}}
{{- if include "hibernator.servesTrail" . -}}
{{- $_ := set $own "trailUrl" (printf "https://hibernator-webhook.%s.svc:9444" .Release.Namespace) -}}
{{- end -}}
{{- range list "watchNamespace" "approverEmails" "approverRoles" "approvalOfOwnRequests" -}}
{{- if hasKey $.Values.settings . -}}
{{- $_ := set $own . (get $.Values.settings .) -}}
{{- end -}}
{{- end -}}
{{- toYaml (merge $own .Values.web.settings (dict "sessionKeyFile" "/etc/hibernator/web/session-keys")) -}}
{{- end }}

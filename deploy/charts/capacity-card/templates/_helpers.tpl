{{- define "capacity-card.labels" -}}
app.kubernetes.io/name: capacity-card
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The rules of a role, with the name of the scheduler's ConfigMap in this cluster. The
arguments are the root and the role. */}}
{{- define "capacity-card.rules" -}}
{{- range .role.rules }}
{{- if has "configmaps" .resources }}
{{- $_ := set . "resourceNames" (list $.root.Values.scheduler.configMap) }}
{{- end }}
- {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "capacity-card.viewerRules" -}}
{{- include "capacity-card.rules" (dict "root" . "role" (.Files.Get "files/clusterrole.yaml" | fromYaml)) }}
{{- end -}}

{{- define "capacity-card.cardctlImage" -}}
{{- with .Values.cardctl }}
{{- printf "%s:%s" .image (.tag | default (printf "%s-volcano-%s" $.Chart.AppVersion .volcano)) }}
{{- end }}
{{- end -}}

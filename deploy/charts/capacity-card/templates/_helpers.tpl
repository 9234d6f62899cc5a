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
{{- $_ := set . "resourceNames" (prepend (without .resourceNames "volcano-scheduler-configmap") $.root.Values.scheduler.configMap) }}
{{- end }}
- {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* 90 % of a limit of memory, in the form of GOMEMLIMIT. */}}
{{- define "capacity-card.goMemLimit" -}}
{{- $bytes := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 }}
{{- $limit := mul (regexFind "^[0-9]+" . | int64) (get $bytes (regexFind "[a-zA-Z]*$" .)) }}
{{- printf "%dMiB" (div (mul $limit 9) 10485760) }}
{{- end -}}

{{- define "capacity-card.viewerRules" -}}
{{- include "capacity-card.rules" (dict "root" . "role" (.Files.Get "files/clusterrole.yaml" | fromYaml)) }}
{{- end -}}

{{- define "capacity-card.cardctlImage" -}}
{{- with .Values.cardctl }}
{{- printf "%s:%s" .image (.tag | default (printf "%s-volcano-%s" $.Chart.AppVersion .volcano)) }}
{{- end }}
{{- end -}}

#!/bin/bash
# report.sh LIST REPORT: sums up the orders of each country.
set -euo pipefail
{
  echo 'country,orders,amount'
  awk -F, 'NR > 1 { orders[$2] += 1; amount[$2] += $3 }
    END { for (country in orders) print country "," orders[country] "," amount[country] }' "$1" | sort -t, -k3,3nr
} > "$2"
cat "$2"

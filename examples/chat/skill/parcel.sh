# Prints what a parcel costs. The first argument is its weight in grams.
if [ "$1" -le 1000 ]; then echo "A parcel of $1 g costs 4.90."; else echo "A parcel of $1 g costs 8.50."; fi

# What a configuration costs, without any GPU.
sleep 0.1
echo "cost $((($1 - 3) * ($1 - 3) + ($2 - 5) * ($2 - 5) + 1)) ms"

# SPDX-License-Identifier: MIT
# The rest of a completion function for bash, after `options`, which names all, was set; see packaging/completions.
	local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} kind='' words='' i
	# --name=value are three words here, and --name=a:b five
	local typed=${COMP_LINE:0:COMP_POINT}
	typed=${typed##*[[:space:]]}
	if [[ $typed == --*=* ]]; then
		option=${typed%%=*}= word=${typed#*=}
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) ((i++)); break ;;
		@TAKING@) [[ ${COMP_WORDS[i + 1]} == [=:] ]] || ((i++)) ;;
		-*) ;;
		*) break ;;
		esac
		while [[ ${COMP_WORDS[i + 1]} == [=:] ]]; do ((i += 2)); done
	done
	COMPREPLY=()
	((i >= COMP_CWORD)) || [[ -z $command ]] || {
		if declare -F _command_offset >/dev/null; then _command_offset "$i"; else compopt -o default; fi
		return
	}
	case $option in
@CASES@
	esac
	case $kind in
	file) compopt -o default ;;
	folder) compopt -o dirnames ;;
	pid) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$word") ;;
	words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word") ;;
	none) ;;
	*)
		if [[ $word == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
		else
			[[ -z $command || $word == */* ]] || mapfile -t COMPREPLY < <(compgen -c -- "$word")
			compopt -o default
		fi
		;;
	esac
	[[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *[=:] ]] || compopt -o nospace

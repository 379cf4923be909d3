"""Completion in the shell."""

from __future__ import annotations

from click.testing import CliRunner

from separatrix.cli.program import program


def test_completion_knows_methods_and_data():
    def completed(words):
        env = {"_SEPARATRIX_COMPLETE": "bash_complete", "COMP_WORDS": words}
        env["COMP_CWORD"] = str(words.count(" "))
        result = CliRunner(env=env).invoke(program, prog_name="separatrix")
        return result.stdout

    assert "plain,FisherDiscriminant" in completed("separatrix fit wine --method fish")
    assert "plain,PCA,LDA" in completed("separatrix compare wine --methods PCA,LD")
    assert "plain,wine" in completed("separatrix compare wi")

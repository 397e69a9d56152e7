//! What coding agents obey.

use super::Class::AgentSettings;
use super::Row;

pub(super) const ROWS: &[Row] = &[
    Row::new(AgentSettings, ".claude/", &[".claude/settings.json", ".claude/hooks/a.sh", ".claude"])
        .because("is obeyed by Claude Code, which runs hooks and servers that it names")
        .but_not(&["claude/x", ".claudeignore"]),
    Row::new(AgentSettings, "{.codex,.gemini,.cursor,.windsurf,.cline,.roo,.continue,.opencode,.junie,.kiro,.goose,.amp,.augment,.factory,.qwen,.openhands,.agents,.agent,.aider,.trae,.amazonq,.copilot,.crush,.devin}/", &[".codex/config.toml", ".gemini/settings.json", ".cursor/mcp.json", ".roo/rules/x.md", ".agents/skills/a/SKILL.md"])
        .but_not(&["codex/x", "cursor/mcp.rs"]),
    Row::new(AgentSettings, "{.,}mcp.json", &[".mcp.json", "mcp.json"])
        .because("names servers that coding agents start"),
    Row::new(AgentSettings, "{agents,agents.override,agent,claude,claude.local,gemini,qwen,warp,crush,codex,copilot}.md", &["AGENTS.md", "CLAUDE.md", "sub/CLAUDE.local.md", "GEMINI.md"])
        .because("holds instructions that coding agents follow")
        .but_not(&["readme.md", "agents.rs", "travel-agents.md"]),
    Row::new(AgentSettings, ".github/copilot-instructions.md", &[".github/copilot-instructions.md"])
        .because("holds instructions that coding agents follow"),
    Row::new(AgentSettings, ".github/{instructions,prompts,chatmodes,agents,hooks,skills}/", &[".github/prompts/a.prompt.md"])
        .because("holds instructions that coding agents follow"),
    Row::new(AgentSettings, ".aider*", &[".aider.conf.yml", ".aiderignore"]),
    Row::new(AgentSettings, ".clinerules*/", &[".clinerules", ".clinerules/a.md"]),
    Row::new(AgentSettings, ".{cursorrules,windsurfrules,goosehints,roomodes,rules,cursorignore}", &[".cursorrules", ".windsurfrules"]),
    Row::new(AgentSettings, ".roorules*/", &[".roorules-code", ".roorules/x.md"]),
    Row::new(AgentSettings, "{.continuerc.json,opencode.json,opencode.jsonc,crush.json,.crush.json}", &["opencode.json", ".crush.json"]),
    Row::new(AgentSettings, "{.claude-plugin,.kilocode,.serena,.warp,.qoder,.codebuddy,.rovodev,.zencoder,.iflow,.firebender,.ruler,.aiassistant}/", &[".claude-plugin/plugin.json", ".kilocode/rules/a.md"]),
    Row::new(AgentSettings, "{hooks/hooks.json,skill.md,gemini-extension.json}", &["hooks/hooks.json", "skills/x/SKILL.md"])
        .but_not(&["skills.md"]),
];

//! What interpreters and debuggers execute by themselves.

use super::Class::InterpreterStartup;
use super::Row;

const PYTHON: &str = "is executed whenever Python starts with this directory in its path";
const DEBUGGER: &str = "is executed by a debugger that starts here";
const SHELL: &str = "is executed by an interactive interpreter that starts here";

pub(super) const ROWS: &[Row] = &[
    Row::new(InterpreterStartup, "{site,user}customize.py", &["sitecustomize.py", "lib/usercustomize.py"]).because(PYTHON),
    Row::new(InterpreterStartup, "{site,user}customize/", &["sitecustomize/__init__.py"]).because(PYTHON),
    Row::new(InterpreterStartup, "*.pth", &["site-packages/evil.pth", "a.PTH"]).because(PYTHON).but_not(&["a.path"]),
    Row::new(InterpreterStartup, "pyvenv.cfg", &["pyvenv.cfg"]).because("decides which Python starts"),
    Row::new(InterpreterStartup, "{.venv,venv,.virtualenv}/", &[".venv/bin/python", "venv/lib/x.py"])
        .because("is a Python environment, which editors and shells use on their own"),
    Row::new(InterpreterStartup, "conftest.py", &["conftest.py", "tests/conftest.py"]).because("is executed by pytest before any test"),
    Row::new(InterpreterStartup, "{.,}pytest.{ini,toml}", &["pytest.ini"]).because("can name code that pytest loads"),
    Row::new(InterpreterStartup, "{.pythonrc*,.pythonstartup,.pdbrc,.pdbrc.py,.ipython_config.py,ipython_config.py,jupyter_*config.py}", &[".pythonrc", ".pythonrc.py", ".pdbrc"]).because(SHELL),
    Row::new(InterpreterStartup, "{.rprofile,rprofile.site,.renviron,renviron.site}", &[".Rprofile", ".Renviron"]).because("is executed whenever R starts here"),
    Row::new(InterpreterStartup, "renv/activate.r", &["renv/activate.R"]).because("is executed whenever R starts here"),
    Row::new(InterpreterStartup, "{.irbrc,.pryrc,.rdbgrc,.rspec,.rubyopt}", &[".irbrc", ".pryrc", ".rspec"]).because(SHELL),
    Row::new(InterpreterStartup, ".{gdbinit,lldbinit,gdbearlyinit,radare2rc}*", &[".gdbinit", ".lldbinit", ".lldbinit-Xcode"]).because(DEBUGGER),
    Row::new(InterpreterStartup, "*-gdb.{py,gdb,scm}", &["libx.so-gdb.py"]).because(DEBUGGER),
    Row::new(InterpreterStartup, ".{ghci,iex.exs,octaverc,perldb,psqlrc,sqliterc,duckdbrc,my.cnf,noderc,jshellrc,utoprc,ocamlinit,clisprc,sbclrc,guile,juliarc.jl,erlang,dbxrc,bpythonrc}", &[".ghci", ".iex.exs", ".psqlrc", ".ocamlinit"]).because(SHELL),
    Row::new(InterpreterStartup, "{php.ini,.user.ini,.htaccess,.php.ini}", &["php.ini", "public/.user.ini"]).because("can name code that runs before every page"),
    Row::new(InterpreterStartup, "{startup,localproject}.jl", &["startup.jl"]).because("is executed when Julia starts"),
    Row::new(InterpreterStartup, ".{jvmopts,jvmflags,jrubyrc,java_tool_options}", &[".jvmopts"]).because("can name code that Java loads as it starts"),
    Row::new(InterpreterStartup, "ld.so.preload", &["etc/ld.so.preload"]).because("is loaded into every program"),
    Row::new(InterpreterStartup, "*.{pyc,pyo}", &["__pycache__/app.cpython-311.pyc", "a.pyo"])
        .because("is executed by Python in the place of its source"),
    Row::new(InterpreterStartup, "*.{so,so.[0-9]*,dylib,dll,pyd,node,jar,class,war}", &["lib/x.so", "libx.so.1.2", "addon.node", "libs/a.jar", "A.class"])
        .because("is compiled code, which programs load without its being executable")
        .but_not(&["a.sol", "node", "jar.txt", "so"]),
    Row::new(InterpreterStartup, "{.rdata,.mongorc.js,.mongoshrc.js,.proverc,.simplecov,.rspec-local}", &[".RData", ".mongorc.js"]).because(SHELL),
    Row::new(InterpreterStartup, ".ipython/", &[".ipython/profile_default/startup/a.py"]).because(SHELL),
];

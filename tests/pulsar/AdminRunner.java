import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Properties;
import org.apache.pulsar.admin.cli.PulsarAdminTool;

/**
 * Runs Pulsar's own admin command many times in one JVM, as Pulsar's shell does, so that a test need not wait for a JVM
 * each time.
 *
 * <p>One line in: the arguments as a JSON list. One line out: exit code, standard output and standard error as a JSON
 * map. The tool is Pulsar's, unchanged; only the end of the process is left out.
 */
public final class AdminRunner extends PulsarAdminTool {
    private AdminRunner() throws Exception {
        super(new Properties());
    }

    public static void main(String[] none) throws Exception {
        ObjectMapper json = new ObjectMapper();
        PrintStream answers = System.out;
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        AdminRunner tool = new AdminRunner();
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            answers.println(json.writeValueAsString(tool.answer(json.readValue(line, String[].class))));
        }
        System.exit(0);
    }

    private Map<String, Object> answer(String[] arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        commander.setOut(new PrintWriter(System.out, true));
        commander.setErr(new PrintWriter(System.err, true));
        boolean succeeded = run(arguments);
        return Map.of(
                "exit", succeeded ? 0 : 1,
                "out", out.toString(StandardCharsets.UTF_8),
                "err", err.toString(StandardCharsets.UTF_8));
    }
}

import BLE
import Testing

@testable import BLECommand

@Suite struct ShellActionTests {
    private static let held: Peripheral.ID = "C0:00:00:00:00:01"

    @Test(
        arguments: [
            ("read 2a19", ["read", "C0:00:00:00:00:01", "2a19"]),
            ("read --timeout 3 2a19", ["read", "C0:00:00:00:00:01", "--timeout", "3", "2a19"]),
            ("inspect", ["inspect", "C0:00:00:00:00:01"]), ("battery", ["battery", "C0:00:00:00:00:01"]),
            ("profile battery", ["profile", "battery", "C0:00:00:00:00:01"]),
            ("write ff01 01", ["write", "C0:00:00:00:00:01", "ff01", "01"]),
            ("expect 2a19 90%", ["expect", "C0:00:00:00:00:01", "2a19", "90%"]),
            ("expect 2a6e -- -5.5", ["expect", "C0:00:00:00:00:01", "2a6e", "--", "-5.5"]),
            ("send a.txt --channel", ["send", "C0:00:00:00:00:01", "a.txt", "--channel"]),
            ("expect Strap 2a19 90%", ["expect", "Strap", "2a19", "90%"]),
            ("send Strap a.txt", ["send", "Strap", "a.txt"]),
            // With an ID, another peripheral is meant.
            ("read Strap 2a19", ["read", "Strap", "2a19"]), ("inspect Strap", ["inspect", "Strap"]),
            ("read C0:00:00:00:00:02 2a19", ["read", "C0:00:00:00:00:02", "2a19"]),
            ("profile battery Strap", ["profile", "battery", "Strap"]),
            ("write Strap ff01 01", ["write", "Strap", "ff01", "01"]),
            ("scan --duration 1", ["scan", "--duration", "1"]), ("numbers -v heart", ["numbers", "-v", "heart"]),
        ])
    func `the held peripheral takes the place of an ID`(_ line: String, _ arguments: [String]) throws {
        #expect(try ShellAction(ShellWords.split(line), held: Self.held) == .command(arguments))
    }

    @Test func `the shell has commands of its own`() throws {
        #expect(try ShellAction(["use"], held: Self.held) == .use(nil))
        #expect(try ShellAction(["connect", "Strap"], held: Self.held) == .use("Strap"))
        #expect(try ShellAction(["disconnect"], held: nil) == .disconnect)
        #expect(try ShellAction(["sleep", "0.5"], held: nil) == .sleep(.milliseconds(500)))
        #expect(try ShellAction(["quit"], held: nil) == .exit)
    }

    @Test(
        arguments: [
            ("scna", "Did you mean scan?"), ("serve battery", "ble serve"), ("help nope", "There is no command"),
            ("read x 2a19 --bus y", "belongs to the shell"), ("scan --backend=bluez", "belongs to the shell"),
            ("scan -vv", "belongs to the shell"), ("numbers heart --vendor x", "belongs to the shell"),
            ("channel --listen", "ble channel --listen"),
            ("pair Strap --capability display-only", "ble pair"), ("sleep 86401", "86400"), ("use a b", "b"),
        ])
    func `what cannot be done in the shell is refused, with what can`(_ line: String, _ message: String) throws {
        let words = try ShellWords.split(line)
        let error = #expect(throws: (any Error).self) { try ShellAction(words, held: Self.held) }
        #expect(error.map { "\($0)".contains(message) } == true, "\(String(describing: error))")
    }
}

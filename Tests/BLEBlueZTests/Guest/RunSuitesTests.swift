import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// `Scripts/guest/run-suites`, with a `with-bluez` that runs its command here, and a script in place of the tests.
@Suite(.startsProcesses, .hangLimit) struct RunSuitesTests {
    /// The scripts in a folder of their own.
    private final class Scripts {
        private let folder = FileManager.default.temporaryDirectory.appending(path: "run-suites-\(UUID())")

        /// - Parameters:
        ///   - guest: what `with-bluez` does before it runs its command. `$count` is the number of guests so far, `$limit` the time.
        ///   - suite: what the tests do after they have noted that suite `$4` ran. `$count` is the number of its runs so far.
        ///     Status 71 ends the guest as a failure of its kernel does.
        init(guest: String = "", suite: String = "") throws {
            try FileManager.default.createDirectory(
                at: folder.appending(path: "guest"), withIntermediateDirectories: true)
            for name in ["common", "run-suites", "take-suites"] {
                try FileManager.default.copyItem(
                    at: Checkout.url("Scripts/guest/\(name)"), to: folder.appending(path: "guest/\(name)"))
            }
            try write(
                "with-bluez",
                """
                while getopts :lt:k:w: option; do [ $option != t ] || limit=$OPTARG; done
                shift $((OPTIND - 1))
                echo >>"$here/guests"
                count=$(wc -l <"$here/guests")
                \(guest)
                "$@"
                """)
            try write(
                "tests",
                """
                echo "$4" >>"$here/ran"
                count=$(grep -cx "$4" "$here/ran") tests=1
                \(suite)
                echo "<testsuite tests=\\"$tests\\">" >"$6"
                """)
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        private func write(_ name: String, _ script: String) throws {
            let file = folder.appending(path: name)
            try "#!/bin/bash\nhere=$(dirname \"$0\")\n\(script)\n".write(to: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755], ofItemAtPath: file.path(percentEncoded: false))
        }

        private func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }

        /// Runs the suites A, B and C.
        func run(guests: Int = 1, seconds: Int = 1000, begun: Int = 0) async throws -> TestProgram.Result {
            try await TestProgram(
                path("guest/run-suites"),
                ["\(guests)", "\(seconds)", path("logs"), path("tests"), "A", "B", "C"],
                environment: ["SECONDS": "\(begun)"]
            ).run()
        }

        /// The suites that ran, in order.
        var ran: [String] {
            let text = try? String(contentsOf: folder.appending(path: "ran"), encoding: .utf8)
            return text?.split(separator: "\n").map(String.init) ?? []
        }
    }

    @Test func `each suite runs once`() async throws {
        let scripts = try Scripts()
        #expect(try await scripts.run().status == 0)
        #expect(scripts.ran == ["A", "B", "C"])
    }

    @Test func `a kernel that fails during the boot leaves no suite out, also after an earlier run`() async throws {
        let scripts = try Scripts(guest: "[ $count = 1 ] || [ $count = 3 ] && exit 71")
        #expect(try await scripts.run().status == 0)
        #expect(scripts.ran == ["A", "B", "C"])
        let second = try await scripts.run()
        #expect(second.status == 0 && second.output.contains("a new guest goes on\n"))
        #expect(scripts.ran == ["A", "B", "C", "A", "B", "C"])
    }

    @Test func `the suite during which the kernel fails begins again, and the next ones follow`() async throws {
        let scripts = try Scripts(suite: "[ $4 != B ] || [ $count != 1 ] || exit 71")
        let result = try await scripts.run()
        #expect(result.status == 0)
        #expect(result.output.contains("a new guest goes on with B\n"))
        #expect(scripts.ran == ["A", "B", "B", "C"])
    }

    @Test func `a kernel that fails each time is a failure`() async throws {
        let scripts = try Scripts(suite: "[ $4 != B ] || exit 71")
        let result = try await scripts.run()
        #expect(result.status == 71)
        #expect(result.errors.contains("B has not passed") && result.errors.contains("C has not passed"))
        #expect(scripts.ran == ["A", "B", "B", "B"])
    }

    @Test func `a test that has failed before the kernel did is a failure`() async throws {
        let scripts = try Scripts(suite: "[ $4 != B ] || { echo '✘ Test failed'; exit 71; }")
        let result = try await scripts.run()
        #expect(result.status == 1)
        #expect(scripts.ran == ["A", "B"])
    }

    @Test func `a suite that fails ends its guest`() async throws {
        let scripts = try Scripts(suite: "[ $4 != B ] || exit 7")
        #expect(try await scripts.run().status == 7)
        #expect(scripts.ran == ["A", "B"])
    }

    @Test func `a suite without a test is a failure`() async throws {
        let scripts = try Scripts(suite: "[ $4 != B ] || tests=0")
        let result = try await scripts.run()
        #expect(result.status == 1)
        #expect(result.output.contains("B has no test"))
    }

    @Test func `a guest that runs nothing is a failure`() async throws {
        let scripts = try Scripts(guest: "exit 0")
        let result = try await scripts.run()
        #expect(result.status == 1)
        #expect(result.errors.contains("A has not passed"))
    }

    @Test func `guests share the suites, and the next guest takes what one gave back`() async throws {
        // A ends last, and so the other guest runs the rest; its kernel fails once.
        let scripts = try Scripts(
            suite: """
                [ $4 != A ] || until [ -e "$here/logs/suites/C/passed" ]; do read -rt 0.05 <> <(:); done
                [ $4 != B ] || [ $count != 1 ] || exit 71
                """)
        let result = try await scripts.run(guests: 2)
        #expect(result.status == 0)
        #expect(scripts.ran.sorted() == ["A", "B", "B", "C"])
    }

    @Test func `a new guest has the time that is left`() async throws {
        let scripts = try Scripts(guest: "echo \"limit $limit\"; [ $limit -le 50 ] || exit 1")
        #expect(try await scripts.run(seconds: 150, begun: 100).status == 0)
        let late = try Scripts()
        #expect(try await late.run(seconds: 150, begun: 150).status == 124)
        #expect(late.ran == [])
    }
}

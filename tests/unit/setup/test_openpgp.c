/* Signed texts: gpg's own, and each of them with a change. */
#include "setup/openpgp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"

#include "unit/scratch.h"

/* gpg 2.2 made both, with an RSA key of 2048 bits that was thrown away. */
static const char message[] = "-----BEGIN PGP SIGNED MESSAGE-----\n"
                              "Hash: SHA256\n"
                              "\n"
                              "hello  \n"
                              "- - dash\n"
                              "- -----x\n"
                              "\n"
                              "end\n"
                              "-----BEGIN PGP SIGNATURE-----\n"
                              "\n"
                              "iQEzBAEBCAAdFiEEHaSiSwqJkOjiRsfHAngwpKgqyNQFAmsLOrkACgkQAngwpKgq\n"
                              "yNRj2Af/XGOXWgodJ1iT3Tjkl1a8sHEIvik3TZfFFkcwaIvHA+W1jc8hIfkwaFV6\n"
                              "cqKUbPr5xFyxFWSWz3JkoSUyF9ly/9gflriF3z93JCORFddssegy2KP0EMrvBRkU\n"
                              "T8wFXO56QsmWkUWHgpP5MqI62XFK+0E/4/FTY9KhBkkileQ+Ue91+7PIVI0eqz+S\n"
                              "eG04FxsCKEU28AcL+z8+oRGxvGrzdDHBciQB9VXDFcDQ/Vn4wsFtEM0biz3hJnk+\n"
                              "i6sBPZRL/oxHCOJaKnL3ultqQ/VHYhX+86QjbyJ9fgcUf/XsmMr91BYAINAZpiyo\n"
                              "pdGXb7eCsTcNB2pUIGKpj5mv8IzqpQ==\n"
                              "=ulVL\n"
                              "-----END PGP SIGNATURE-----\n";
static const char armored_key[] =
    "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"
    "\n"
    "mQENBGsLOrgBCADBguzKKloazaTi8SG/Ehh6dbZQgVWcGfztrwHclGLomO6yJ98n\n"
    "YbHQx3T+SJxylBN2x/ZnPw7J5G3DY0g4ovrgStYYm3V0F1j9RjYRiN0akH7BFv8R\n"
    "sfora3nAE0TJ0FgHcjR6mhluQ4ksfNVFTaQkUwQtjVliv8BLdv2GqDKWIUZcu/wh\n"
    "ExK8jHRuaf85MoRG9l6GsYUqtVMXd0/xSNh9J2uCR31+dYVIJ/vac4ufN6ar1UTQ\n"
    "D6/VdbIwmw5+WxKa/aqjcWGPrCjyocIcvHlXaCmR+ZRA/1TkCSNLRdb4GuPo89Y8\n"
    "hL3rJIW47NSbV7QsWxOyvdokDC6OMrnYALoXABEBAAG0B2tTSEEyNTaJAU4EEwEK\n"
    "ADgWIQQdpKJLComQ6OJGx8cCeDCkqCrI1AUCaws6uAIbAwULCQgHAgYVCgkICwIE\n"
    "FgIDAQIeAQIXgAAKCRACeDCkqCrI1DUyB/9N0ymhVMyjnM0ty14RnR/RuuMBDn19\n"
    "a65XDR8Sg4fDRErOJBj7HxeYS73/0p/NhuxPa0n8LrbPO5ZTiejEZmopyOS6pr52\n"
    "xRGXeEz7zoU6V8wk68VvZHBxpYuSLE1XnKxmBX/jTfN7oGCs6m8gTaN3lnn9N2Sg\n"
    "p9R04pqdxEHlh6OnzHEKqGRHCg56Sj5heGseoVG50eYlzBobFCX48y7DvReEy3LB\n"
    "wUdY1u8Qj05ysFPu2dzgPlJpJDFbdHwXXF5t6rQusN8+oQnRCCXUOmcZbESRqlH4\n"
    "/fr0CZtv10w4d2pApdzDbRmUB1x43eXR6UebXp2q+fSK7aYoMrTsW+SQ\n"
    "=X74I\n"
    "-----END PGP PUBLIC KEY BLOCK-----\n";

static void read_key(struct rp_rsa_keys *keys)
{
    rp_autofree char *path = scratch_script("key.asc", armored_key);
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_openpgp_read_keys(path, keys, &err), 0);
    assert_int_equal(keys->count, 1);
    assert_int_equal(keys->items[0].exponent, 65537);
}

static void what_gpg_signed(void **state)
{
    struct rp_rsa_keys keys = {0}, debian = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf text = {0};

    (void)state;
    read_key(&keys);
    assert_int_equal(rp_openpgp_verify(message, strlen(message), &keys, &text, &err), 0);
    /* Blanks at the end of a line are not signed, and dashes are no longer escaped. */
    assert_string_equal(rp_buf_text(&text), "hello\n- dash\n-----x\n\nend\n");
    rp_openpgp_debian_keys(&debian);
    assert_int_equal(debian.count, 2);
    for (size_t i = 0; i < debian.count; i++)
        assert_int_equal(debian.items[i].modulus_bytes, 512);
    assert_int_equal(rp_openpgp_verify(message, strlen(message), &debian, NULL, &err),
                     -RP_BAD_INPUT);
    rp_vec_free(&keys);
    rp_vec_free(&debian);
}

/** Says where a change makes no difference: blanks at the ends of lines, and what is not looked at:
 * the digest's name in front, the armor's padding, checksum and end, and the part of the signature
 * that is not signed, which is the key's name and two bytes of the digest. */
static bool may_change(size_t at, char to)
{
    const char *text = strstr(message, "\n\n") + 2,
               *signature = strstr(message, "-----BEGIN PGP SIGNATURE");
    const char *checksum = strstr(signature, "\n=");
    const char *key_name = strstr(signature, "kQAngwpKgq"), *here = message + at;

    return (here < text && here > message + 34) || here > checksum ||
           (here >= key_name && here < key_name + 16) || strchr("= \t\r\n", *here) ||
           strchr(" \t\r\n", to);
}

static void no_byte_may_differ(void **state)
{
    struct rp_rsa_keys keys = {0};
    rp_autofree char *changed = strdup(message);
    size_t accepted = 0;

    (void)state;
    read_key(&keys);
    for (size_t i = 0; i < strlen(message); i++) {
        struct rp_err err = RP_ERR_INIT;

        changed[i] = (char)(message[i] ^ 1);
        if (rp_openpgp_verify(changed, strlen(message), &keys, NULL, &err) >= 0 &&
            !may_change(i, changed[i]))
            accepted += printf("accepted with byte %zu changed from %c\n", i, message[i]) > 0;
        changed[i] = message[i];
    }
    for (size_t i = 0; i < strlen(message) - 60; i += 5) {
        struct rp_err err = RP_ERR_INIT;

        assert_true(rp_openpgp_verify(message, i, &keys, NULL, &err) < 0);
    }
    assert_int_equal(accepted, 0);
    rp_vec_free(&keys);
}

static void keys_that_are_none(void **state)
{
    static const char *const texts[] = {"", "x", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n",
                                        "\x99\xff\xff"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rp_autofree char *path = scratch_script("key", texts[i]);
        struct rp_rsa_keys keys = {0};
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(rp_openpgp_read_keys(path, &keys, &err), -RP_BAD_INPUT);
        assert_non_null(strstr(err.text, "gpg --export"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_gpg_signed, scratch_begin, scratch_end),
        cmocka_unit_test_setup_teardown(no_byte_may_differ, scratch_begin, scratch_end),
        cmocka_unit_test_setup_teardown(keys_that_are_none, scratch_begin, scratch_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

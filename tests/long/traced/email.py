# SPDX-License-Identifier: MIT
import email, email.mime.text, email.mime.multipart
m = email.mime.multipart.MIMEMultipart()
for i in range(20):
    m.attach(email.mime.text.MIMEText('text %d' % i))
kept = [email.message_from_string(m.as_string()) for i in range(5)]
